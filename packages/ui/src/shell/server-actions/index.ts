export { ChangeList } from "./approve-dialog.js";
export { ServerActions } from "./server-actions.js";
export { openServerDialog, ServerDialogs } from "./server-dialogs.js";
export { authenticationText, finalExpiryMs, serverState, usesOAuth, whyCommand } from "./server-status.js";
