"""The operator's settings, checked and frozen: `config` has the types, `file` reads them from YAML."""
