export { type ConnectAdminOptions, type ConnectedAdmin, connectAdmin } from "./connect-admin.js";
