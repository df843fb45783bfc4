"""What pages about runs are made of: a document with the shared look, sections, tables and charts."""
