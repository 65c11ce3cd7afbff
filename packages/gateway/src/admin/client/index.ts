export * from "../../gen/wirescope/v1/admin_pb.js";
export {
  type AdminClient,
  type AdminClientOptions,
  type AdminError,
  createAdminClient,
  readAdminError,
} from "./admin-client.js";
