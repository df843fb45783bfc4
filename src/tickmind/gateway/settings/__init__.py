"""What the operator says, checked and frozen: `config` are the types, `file` reads them from YAML."""
