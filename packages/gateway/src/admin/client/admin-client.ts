import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { AdminService, type Failure, FailureSchema } from "../../gen/wirescope/v1/admin_pb.js";
import type { AdminTokens } from "./admin-header.js";
import { endWithLoop } from "./end-with-loop.js";
import { createFetchTransport } from "./fetch-transport.js";

/** The methods of the service. They reject with a ConnectError, which `readAdminError` takes apart. */
export type AdminClient = Client<typeof AdminService>;

/** How a gateway is reached. */
export interface AdminClientOptions extends AdminTokens {
  /** The base URL of the gateway, such as `http://127.0.0.1:4690`. */
  readonly url: string;
  /** Default: that of the platform. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** A client for the administration of a gateway, for browsers and for Node; or one over a transport of Connect's. */
export function createAdminClient(options: AdminClientOptions | Transport): AdminClient {
  const client = createClient(AdminService, "unary" in options ? options : createFetchTransport(options));
  return {
    ...client,
    watchServers: (request, given) => endWithLoop((call) => client.watchServers(request, call), given),
    signIn: (request, given) => endWithLoop((call) => client.signIn(request, call), given),
  };
}

/** Why a method failed. */
export interface AdminError {
  /** The status of the call, such as `NotFound`. */
  readonly status: keyof typeof Code;
  /** What is wrong and what to do, for people. */
  readonly message: string;
  /** What the gateway has besides: its own code. Undefined where it has none. */
  readonly failure: Failure | undefined;
}

/** What a method rejected with. What is no failure of a call has the status `Unknown`. */
export function readAdminError(error: unknown): AdminError {
  const read = ConnectError.from(error);
  const status = Code[read.code] as keyof typeof Code;
  return { status, message: read.rawMessage, failure: read.findDetails(FailureSchema)[0] };
}
