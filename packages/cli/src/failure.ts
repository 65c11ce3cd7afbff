import { ChannelzError, type ChannelzErrorCode, printableText } from "@wirescope/channelz/internal";
import type { ToolServerError, ToolServerErrorCode } from "@wirescope/tool-server";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import { Interruption } from "./interruption.js";
import type { Io } from "./io.js";
import { UsageError } from "./usage-error.js";

/** The exit codes of the CLI. */
export const exitCode = { ok: 0, failure: 1, usage: 2, notExamined: 3, interrupted: 130, outputClosed: 141 } as const;

type Code = ChannelzErrorCode | ToolServerErrorCode;

const usageCodes: readonly Code[] = [
  "TARGET_INVALID",
  "TOKEN_EXPOSED",
  "TOKEN_UNUSABLE",
  "CONFIGURATION_UNREADABLE",
  "SERVER_UNKNOWN",
];

// Only the command line can name the option that helps.
const optionHints: Partial<Record<Code, string>> = {
  LIMIT_REACHED: "Option: --max-objects 1000000.",
  PEER_REFUSED: "Options: --token-file <file> or WIRESCOPE_TOKEN; --cert <file> --key <file>.",
  PEER_TIMEOUT: "Option: --timeout 30s.",
  CALL_TIMEOUT: "Option: --timeout 5m.",
  TOKEN_EXPOSED: "Options: --tls; --allow-insecure-token if the network is trusted.",
};

/** Prints an error and the next step to standard error. Returns the exit code. */
export function reportFailure(error: unknown, io: Io, verb: string | undefined): number {
  const say = (text: string): void => {
    io.stderr.write(`wirescope: ${printableText(text)}\n`);
  };
  const known = ChannelzError.is(error) || isToolServerError(error) ? error : undefined;
  if (error instanceof Interruption) {
    if (error.message !== "") say(error.message);
    return exitCode.interrupted;
  }
  if (error instanceof UsageError) {
    say(`${error.message} ${error.next ?? `See ${commandLine(...(verb === undefined ? [] : [verb]), "--help")}.`}`);
  } else if (known !== undefined) {
    say([known.message, optionHints[known.code]].filter(Boolean).join(" "));
  } else {
    say(`Unexpected error: ${error instanceof Error ? error.message : String(error)}`);
    if (!io.env.WIRESCOPE_DEBUG) io.stderr.write("Run the command again with WIRESCOPE_DEBUG=1 for a stack trace.\n");
  }
  if (io.env.WIRESCOPE_DEBUG) io.stderr.write(`${describeCauses(error)}\n`);
  if (error instanceof UsageError || (known !== undefined && usageCodes.includes(known.code))) return exitCode.usage;
  return exitCode.failure;
}

/** Detected by its name, so that commands without tool servers need not load that package. */
function isToolServerError(error: unknown): error is ToolServerError {
  return error instanceof Error && error.name === "ToolServerError" && "code" in error;
}

function describeCauses(error: unknown): string {
  const parts: string[] = [];
  const seen = new Set<unknown>();
  for (let link = error; link instanceof Error && !seen.has(link); link = link.cause) {
    seen.add(link);
    parts.push(
      (link.stack ?? String(link))
        .split("\n")
        .map((line) => printableText(line))
        .join("\n"),
    );
  }
  return parts.join("\ncaused by: ");
}
