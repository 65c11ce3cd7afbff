import { parseArgs } from "node:util";
import { type Source, walkServers, walkSocketRefs, walkTopChannels } from "@wirescope/channelz";
import { printableText, stateName } from "@wirescope/channelz/internal/text";
import { connectByOptions } from "../connect-by-options.js";
import { connectionOptions } from "../connection-options.js";
import type { Io } from "../io.js";
import { type OptionValues, parseOptions, toParseArgs } from "../options.js";

/** The user waits for the shell, so later responses are ignored. */
const deadlineMs = 300;
const maxObjects = 200;

interface Candidate {
  readonly id: bigint;
  readonly name: string;
  readonly help: string;
}

/**
 * Lines for a shell: the ids or names of the objects of the target, each followed by a tab and a description. The target is that of
 * the command line in `words`. Empty if it does not respond within 300 ms, or if the words cannot be parsed. Never rejects.
 */
export async function completeObjects(
  what: "ids" | "names",
  words: readonly string[],
  env: Io["env"],
): Promise<string[]> {
  const found: Candidate[] = [];
  const signal = AbortSignal.timeout(deadlineMs);
  try {
    const connections = await connectByOptions({ ...connectionValues(words), timeout: `${deadlineMs}ms` }, { env });
    const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    const reading = Promise.all(connections.parts.map(({ source }) => collect(source, found, signal).catch(() => {})));
    await Promise.race([reading, stopped]);
    // Not awaited: it would take longer than the deadline if a target does not respond.
    void connections.close().catch(() => {});
  } catch {
    return [];
  }
  return found.flatMap(({ id, name, help }) => {
    if (what === "ids") return [`${id}\t${lineOf(help)}`];
    // A shell would split or expand other names, and a peer must not be able to cause that.
    return /^[\w.:/@-]{1,100}$/.test(name) ? [`${name}\t${lineOf(help)}`] : [];
  });
}

function lineOf(text: string): string {
  return printableText(text, 60);
}

/** The connection options in an unfinished command line. */
function connectionValues(words: readonly string[]): OptionValues<typeof connectionOptions> {
  const { tokens } = parseArgs({
    args: [...words],
    options: { ...toParseArgs(connectionOptions) },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const args = tokens.flatMap((token) => {
    if (token.kind !== "option" || !Object.hasOwn(connectionOptions, token.name)) return [];
    return token.value === undefined ? [token.rawName] : [`${token.rawName}=${token.value}`];
  });
  return parseOptions(connectionOptions, args).values;
}

async function collect(source: Source, found: Candidate[], signal: AbortSignal): Promise<void> {
  for await (const { ref, data } of walkTopChannels(source, { signal, maxObjects })) {
    const name = ref?.name || data?.target || "";
    found.push({ id: ref?.channelId ?? 0n, name, help: `channel ${name} ${stateName(data)}` });
  }
  for await (const { ref } of walkServers(source, { signal, maxObjects })) {
    found.push({ id: ref?.serverId ?? 0n, name: ref?.name ?? "", help: `server ${ref?.name ?? ""}` });
  }
  for await (const { ref } of walkSocketRefs(source, { signal, maxObjects })) {
    found.push({ id: ref.socketId, name: ref.name, help: `socket ${ref.name}` });
  }
}
