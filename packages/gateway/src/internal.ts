// For the command line only. It does not load the gateway itself.
export { openAdminConnection } from "./admin/connect-admin.js";
export { approvalFromMessage } from "./admin/messages/approval-message.js";
export { explanationFromMessage } from "./admin/messages/explanation-message.js";
export {
  failureFromMessage,
  failureReport,
  type ServerReport,
  serverFromMessage,
} from "./admin/messages/server-message.js";
export { promptFromMessage, signOutFromMessage } from "./admin/messages/sign-in-message.js";
export type { Gateway } from "./gateway.js";
export type { GatewayConfiguration } from "./servers/gateway-configuration.js";
