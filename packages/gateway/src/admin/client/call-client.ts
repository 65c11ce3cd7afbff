import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { CallService } from "../../gen/wirescope/v1/calls_pb.js";
import { type AdminClientOptions, createFetchTransport, endWithLoop } from "./admin-client.js";

/** The methods of the service. They reject with a ConnectError, see `readAdminError`. */
export type CallClient = Client<typeof CallService>;

/** Creates a client for the call log of a gateway, for browsers and Node, or over a Connect transport. */
export function createCallClient(options: AdminClientOptions | Transport): CallClient {
  const client = createClient(CallService, "unary" in options ? options : createFetchTransport(options));
  return { ...client, watchCalls: (request, given) => endWithLoop((call) => client.watchCalls(request, call), given) };
}
