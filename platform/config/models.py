"""No models: the module is here because Django sends post_migrate only to applications that have one."""
