"""Maps that were drawn with the editor Tiled. Files are hostile until they are checked: no module here trusts one."""
