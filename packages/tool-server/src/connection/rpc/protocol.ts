import { isObject, metaOf, RpcError, type RpcObject, rpcCodes } from "./json-rpc.js";

/** The two variants of the protocol: with a handshake and a session, or stateless with everything in each request. */
export type Era = "legacy" | "modern";

/** The revisions of the newer era that are served. */
export const modernVersions: readonly [string, ...string[]] = ["2026-07-28"];

/** The revisions of the older era that are served, the newest first. */
export const legacyVersions: readonly [string, ...string[]] = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2024-10-07",
];

/** Whether a revision belongs to the newer era. Revisions are dates, so they sort as strings. */
export function isModernVersion(version: string): boolean {
  return version >= modernVersions[0];
}

/** The names in `_meta` that the protocol reserves. */
export const metaKeys = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  logLevel: "io.modelcontextprotocol/logLevel",
  serverInfo: "io.modelcontextprotocol/serverInfo",
  subscriptionId: "io.modelcontextprotocol/subscriptionId",
} as const;

const nameFields: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** The parameter of a method that is also sent in the header Mcp-Name; undefined if there is none. */
export function nameFieldOf(method: string): string | undefined {
  return Object.hasOwn(nameFields, method) ? nameFields[method] : undefined;
}

/** The levels of log messages, the least severe first. */
export const logLevels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

export type LogLevel = (typeof logLevels)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return logLevels.includes(value as LogLevel);
}

/** Whether a level is at least as severe as `least`. */
export function isLevelAtLeast(level: LogLevel, least: LogLevel): boolean {
  return logLevels.indexOf(level) >= logLevels.indexOf(least);
}

/** The side that sends. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
}

/** The protocol fields in the `_meta` of a request of the newer era. */
export interface Envelope {
  readonly version: string;
  readonly clientInfo: Implementation | undefined;
  readonly capabilities: RpcObject;
  readonly logLevel: LogLevel | undefined;
}

/** Whether parameters claim to be of the newer era: their `_meta` contains a version, valid or not. */
export function hasEnvelope(params: RpcObject | undefined): boolean {
  const meta = metaOf(params);
  return meta !== undefined && metaKeys.protocolVersion in meta;
}

/** Reads the envelope of a request that claims to have one. Throws an RpcError that names what is wrong with it. */
export function readEnvelope(params: RpcObject | undefined): Envelope {
  const meta = metaOf(params) ?? {};
  const version = meta[metaKeys.protocolVersion];
  const clientInfo = meta[metaKeys.clientInfo];
  const capabilities = meta[metaKeys.clientCapabilities];
  const logLevel = meta[metaKeys.logLevel];
  if (typeof version !== "string") throw invalid(metaKeys.protocolVersion, "expected a string");
  if (capabilities === undefined) throw invalid(metaKeys.clientCapabilities, "missing");
  if (!isObject(capabilities)) throw invalid(metaKeys.clientCapabilities, "expected an object");
  if (clientInfo !== undefined && !isImplementation(clientInfo)) {
    throw invalid(metaKeys.clientInfo, "expected an object with name and version");
  }
  if (logLevel !== undefined && !isLogLevel(logLevel)) throw invalid(metaKeys.logLevel, "expected a log level");
  return { version, clientInfo, capabilities, logLevel };
}

/** The keys that a request of the newer era needs and does not have. */
export function missingEnvelopeKeys(params: RpcObject | undefined): readonly string[] {
  const meta = metaOf(params);
  if (meta === undefined) return ["_meta"];
  return [metaKeys.protocolVersion, metaKeys.clientCapabilities].filter((key) => !(key in meta));
}

function isImplementation(value: unknown): value is Implementation {
  return isObject(value) && typeof value.name === "string" && typeof value.version === "string";
}

function invalid(key: string, problem: string): RpcError {
  return new RpcError(rpcCodes.invalidParams, `The _meta of the request is invalid: ${key}: ${problem}.`, {
    data: { envelope: { key, problem } },
    status: 400,
  });
}
