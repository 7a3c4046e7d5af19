"""No models: Django tells only applications that have this module that a migration has ended, and grants need to know."""
