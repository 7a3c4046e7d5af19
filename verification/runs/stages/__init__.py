"""How each kind of stage is carried out: a table that the apps above may add to at start-up."""
