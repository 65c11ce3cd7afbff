import { ChannelzError, type ChannelzErrorCode } from "@wirescope/channelz/internal";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import { findGateway } from "../gateway-file.js";
import type { Io } from "../io.js";

/** What the library can only say in general, in the options of the command. */
const hints: Partial<Record<ChannelzErrorCode, string>> = {
  LISTEN_FAILED: "Use another port with --port <number>, or a free one with --port 0.",
  LISTEN_EXPOSED: "Options: --cert <file> --key <file> with --token-file <file>, or with --client-ca <file>.",
};

/**
 * What to do where the gateway cannot listen, in words that may be empty; undefined for any other failure. Another port helps where this
 * one is taken, and not where a certificate is wrong.
 */
export async function listenHint(error: unknown, { env }: Io): Promise<string | undefined> {
  if (!ChannelzError.is(error)) return undefined;
  const hint = hints[error.code];
  if (error.code !== "LISTEN_FAILED") return hint;
  const { cause } = error;
  const isPort = cause instanceof Error && "code" in cause && ["EADDRINUSE", "EACCES"].includes(String(cause.code));
  if (!isPort) return "";
  const running = await findGateway(env);
  const isOurs = running !== undefined && "port" in cause && running.channelz.endsWith(`:${String(cause.port)}`);
  return isOurs
    ? `Your gateway is already running there as process ${running.pid}; ${commandLine("tree")} shows its connections. ${hint}`
    : hint;
}
