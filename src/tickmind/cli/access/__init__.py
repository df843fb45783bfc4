"""Commands for certificates, tokens and health checks."""
