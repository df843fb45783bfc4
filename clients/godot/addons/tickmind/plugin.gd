@tool
extends EditorPlugin
## Nothing to do in the editor: `TickmindAgent` is a node that the dialog for new nodes lists by itself.
