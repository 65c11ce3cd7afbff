import { isObject, type JsonObject, metaOf } from "./json-rpc.js";
import { type Implementation, isLogLevel, type LogLevel, metaKeys } from "./protocol.js";
import { RpcError, rpcCodes } from "./rpc-error.js";

/** What a request of the newer era says of itself in its `_meta`. */
export interface Envelope {
  readonly version: string;
  readonly clientInfo: Implementation | undefined;
  readonly capabilities: JsonObject;
  readonly logLevel: LogLevel | undefined;
}

/** Whether parameters claim to be of the newer era: by the version in their `_meta`, whatever the rest is like. */
export function hasEnvelope(params: JsonObject | undefined): boolean {
  const meta = metaOf(params);
  return meta !== undefined && metaKeys.protocolVersion in meta;
}

/** Reads the envelope of a request that claims to have one. Throws an RpcError that names what is wrong with it. */
export function readEnvelope(params: JsonObject | undefined): Envelope {
  const meta = metaOf(params) ?? {};
  const version = meta[metaKeys.protocolVersion];
  const clientInfo = meta[metaKeys.clientInfo];
  const capabilities = meta[metaKeys.clientCapabilities];
  const logLevel = meta[metaKeys.logLevel];
  if (typeof version !== "string") throw invalid(metaKeys.protocolVersion, "expected a text");
  if (capabilities === undefined) throw invalid(metaKeys.clientCapabilities, "missing");
  if (!isObject(capabilities)) throw invalid(metaKeys.clientCapabilities, "expected an object");
  if (clientInfo !== undefined && !isImplementation(clientInfo)) {
    throw invalid(metaKeys.clientInfo, "expected an object with name and version");
  }
  if (logLevel !== undefined && !isLogLevel(logLevel)) throw invalid(metaKeys.logLevel, "expected a level of logging");
  return { version, clientInfo, capabilities, logLevel };
}

/** The keys that a request of the newer era needs and does not have. */
export function missingEnvelopeKeys(params: JsonObject | undefined): readonly string[] {
  const meta = metaOf(params);
  if (meta === undefined) return ["_meta"];
  return [metaKeys.protocolVersion, metaKeys.clientCapabilities].filter((key) => !(key in meta));
}

export function isImplementation(value: unknown): value is Implementation {
  return isObject(value) && typeof value.name === "string" && typeof value.version === "string";
}

function invalid(key: string, problem: string): RpcError {
  return new RpcError(rpcCodes.invalidParams, `The _meta of the request cannot be used: ${key}: ${problem}.`, {
    data: { envelope: { key, problem } },
    status: 400,
  });
}
