"""No models: Django tells only applications that have this module that migrations ended, and grants need to know."""
