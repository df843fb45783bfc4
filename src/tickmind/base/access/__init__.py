"""Who may reach what: files of tokens that may change while they are used, certificates, and a small CA."""
