export { type ConnectAdminOptions, type ConnectedAdmin, connectAdmin, openAdminConnection } from "./connect-admin.js";
export { approvalFromMessage, type ShownApproval } from "./messages/approval-message.js";
export { explanationFromMessage } from "./messages/explanation-message.js";
export { failureFromMessage } from "./messages/failure-message.js";
export { type ServerReport, serverFromMessage } from "./messages/server-message.js";
export { promptFromMessage, signOutFromMessage } from "./messages/sign-in-message.js";
