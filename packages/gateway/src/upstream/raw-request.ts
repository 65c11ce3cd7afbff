import type { CallOptions, Connection } from "@wirescope/tool-server";
import type { JsonObject } from "@wirescope/tool-server/rpc";

/** A schema that takes every result as it is: what passes through is for the client to judge. */
const anyResult = {
  "~standard": { version: 1, vendor: "wirescope", validate: (value: unknown) => ({ value: value as JsonObject }) },
} as const;

export interface RawRequest extends CallOptions {
  readonly method: string;
  readonly params: JsonObject;
}

/** Makes a request of a server for the gateway itself, and gives its result as it came. Rejects as the connection does. */
export function requestRaw(connection: Connection, request: RawRequest): Promise<JsonObject> {
  const { method, params } = request;
  return connection.call(
    method,
    (client, options) => client.request({ method, params }, anyResult, options) as Promise<JsonObject>,
    request,
  );
}
