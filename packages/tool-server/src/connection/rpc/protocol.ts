/** The two ways in which the protocol is spoken: with a handshake and a session, or stateless with all in each request. */
export type Era = "legacy" | "modern";

/** The revisions of the newer era that are served. */
export const modernVersions = ["2026-07-28"] as const;

/** The revisions of the older era that are served, the newest first. */
export const legacyVersions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"] as const;

/** Whether a revision is of the newer era. They are dates, so they order as text does. */
export function isModernVersion(version: string): boolean {
  return version >= modernVersions[0];
}

/** The names in `_meta` that the protocol keeps for itself. */
export const metaKeys = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  logLevel: "io.modelcontextprotocol/logLevel",
  serverInfo: "io.modelcontextprotocol/serverInfo",
  subscriptionId: "io.modelcontextprotocol/subscriptionId",
} as const;

/** The levels of log messages, the least severe first. */
export const logLevels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

export type LogLevel = (typeof logLevels)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return logLevels.includes(value as LogLevel);
}

/** Whether a message of a level is for someone who asked for those of `least` and above. */
export function isLevelAtLeast(level: LogLevel, least: LogLevel): boolean {
  return logLevels.indexOf(level) >= logLevels.indexOf(least);
}

/** Who speaks. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
}
