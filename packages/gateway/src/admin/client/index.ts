export * from "../../gen/wirescope/v1/admin_pb.js";
export * from "../../gen/wirescope/v1/calls_pb.js";
export {
  type AdminClient,
  type AdminClientOptions,
  type AdminError,
  type CallClient,
  createAdminClient,
  createCallClient,
  createPageClient,
  readAdminError,
} from "./admin-client.js";
