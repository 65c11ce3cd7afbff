import { resolve } from "node:path";
import { printableText } from "@wirescope/channelz/internal";
import type { Gateway } from "@wirescope/gateway/internal";
import { commandLine, shellWord } from "@wirescope/tool-server/internal/command-line";
import { announceGateway, gatewayFile, realPathOf } from "../gateway-file.js";
import type { Io } from "../io.js";

/** The file by which other commands find the gateway. */
export interface Announced {
  readonly file: string;
  withdraw(): void;
}

interface AnnounceOptions {
  readonly env: Io["env"];
  /** The configurations that the gateway serves. */
  readonly files: readonly string[];
  readonly tokenFile: string | undefined;
  readonly profile: string;
  readonly proofKey: string;
  readonly onProblem: (text: string) => void;
}

/** Announces a listening gateway to other commands of its user. If that fails, reports why and returns undefined. */
export function announce(gateway: Gateway, options: AnnounceOptions): Announced | undefined {
  const { env, files, tokenFile, profile, proofKey, onProblem } = options;
  const { endpoint, token, adminToken } = gateway;
  const channelz = channelzTarget(gateway);
  if (endpoint === undefined || channelz === undefined) return undefined;
  const credential = tokenFile === undefined ? { token } : { tokenFile: resolve(tokenFile) };
  const configurations = files.map(realPathOf);
  const file = gatewayFile(env, process.pid);
  try {
    const running = {
      pid: process.pid,
      endpoint,
      channelz,
      ...credential,
      proofKey,
      adminToken,
      configurations,
      profile,
    };
    return { file, withdraw: announceGateway(env, running) };
  } catch (error) {
    onProblem(
      `Other commands cannot find this gateway, because its file cannot be written (${failureOf(error, file)}). ` +
        "They need --target and the token. Set XDG_RUNTIME_DIR to a folder that can be written, for the gateway and for the commands, or free some space.",
    );
    return undefined;
  }
}

/** The error code, and the file or folder. */
function failureOf(error: unknown, file: string): string {
  if (!(error instanceof Error) || !("code" in error)) return `${String(error)}: ${printableText(file)}`;
  return `${String(error.code)}: ${printableText("path" in error ? String(error.path) : file)}`;
}

/** The target for Channelz clients, with https:// if it uses TLS; undefined if the gateway does not listen. */
function channelzTarget({ url, address }: Gateway): string | undefined {
  return url?.startsWith("https:") ? url : address;
}

/** Commands that work without the gateway file. `token` is undefined if it must not be printed. */
export function commandsWithoutFile(
  gateway: Gateway,
  { token, tokenFile }: { readonly token: string | undefined; readonly tokenFile: string | undefined },
): { readonly page: string; readonly next: readonly string[] } {
  const target = ["--target", channelzTarget(gateway) ?? ""];
  const isOpen = gateway.token === undefined && tokenFile === undefined;
  const value = tokenFile === undefined ? shellWord(token ?? "…") : `"$(cat ${shellWord(resolve(tokenFile))})"`;
  const endpoint = gateway.endpoint ?? "";
  // A variable keeps the token out of the process list. Headers cannot use variables whose names begin with WIRESCOPE_.
  const tools = isOpen
    ? commandLine("tools", endpoint)
    : `GATEWAY_TOKEN="$WIRESCOPE_TOKEN" ${commandLine("tools", endpoint, "--header", "Authorization: Bearer ${GATEWAY_TOKEN}")}`;
  return {
    page: commandLine("page", ...target),
    next: [
      ...(isOpen ? [] : [`export WIRESCOPE_TOKEN=${value}`]),
      commandLine("tree", ...target),
      tools,
      commandLine("channels", ...target),
    ],
  };
}
