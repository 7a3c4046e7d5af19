"""How people and agents decide under a frozen protocol; `rules` holds what needs no database."""
