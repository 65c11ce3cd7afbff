import { printableText } from "@wirescope/channelz/internal";
import type { RpcObject } from "@wirescope/tool-server/internal";
import { problemOf } from "../client-message.js";
import { clientText } from "../client-text.js";
import type { GatewayServer } from "../servers/server.js";
import { availabilityOf, statusUri } from "./status.js";

/** The resource with the whole instructions of the servers. */
export const instructionsUri = "wirescope://instructions";

const mimeType = "text/markdown";

/** How the resource is listed. */
const instructionsResource: RpcObject = {
  uri: instructionsUri,
  name: "wirescope_instructions",
  title: "Instructions of the servers",
  description: "The whole instructions of each server, if those that a client gets at first are shortened.",
  mimeType,
};

const intro = "Tools and prompts of several servers, named server__name.";
/** Some clients read only 2048 characters of all instructions: the overview of the servers is within them. */
const maxOverview = 2000;
/** The minimum and maximum length of a line of the overview. */
const [minLine, maxLine] = [40, 200];
/** The maximum length of all instructions together, and of those of one server in the resource. */
const [maxTotal, maxWhole] = [16_384, 262_144];

/** What a client gets at first: a line for each server, then the servers' own texts, each shortened to a fair share. */
export function instructionsOf(servers: readonly GatewayServer[], contact: string | undefined): string {
  const overview = `${intro}\n\n${overviewOf(servers, contact)}`;
  const sections = sectionsOf(servers);
  const max = fairShare(
    sections.map((text) => text.length),
    maxTotal - overview.length,
  );
  const isShortened = sections.some((text) => text.length > max);
  const note = isShortened ? [`The resource ${instructionsUri} has these texts in full.`] : [];
  return [overview, ...note, ...sections.map((text) => clientText(text, max))].join("\n\n");
}

/** The resource, if the instructions that a client gets at first are shortened. */
export function instructionsResources(servers: readonly GatewayServer[]): readonly RpcObject[] {
  const length = sectionsOf(servers).reduce((sum, text) => sum + text.length, 0);
  return length + maxOverview > maxTotal ? [instructionsResource] : [];
}

export function readInstructions(servers: readonly GatewayServer[]): RpcObject {
  return { contents: [{ uri: instructionsUri, mimeType, text: sectionsOf(servers).join("\n\n") }] };
}

/** The texts of the servers that have some, each with its name as a heading. */
function sectionsOf(servers: readonly GatewayServer[]): string[] {
  return servers.flatMap((server) => {
    const texts = textsOf(server);
    return texts.length === 0 ? [] : [[`## ${server.name}`, ...texts].join("\n\n")];
  });
}

/** What the user and the server say about it. */
function textsOf({ describe, entry, redact }: GatewayServer): string[] {
  const description = describe();
  // An entry that nobody approved is not connected, and its text must not reach a client.
  if (description === undefined) return [];
  const written = entry.description === undefined ? [] : printableText(redact(entry.description));
  return [written, description.instructions ?? []].flat().map((text) => clientText(text, maxWhole));
}

function overviewOf(servers: readonly GatewayServer[], contact: string | undefined): string {
  const ask = contact === undefined ? "" : ` Ask ${contact} about those that are unavailable.`;
  const left = maxOverview - intro.length - ask.length - 100;
  const lineLength = Math.min(maxLine, Math.max(minLine, Math.floor(left / Math.max(1, servers.length)) - 1));
  const lines: string[] = [];
  let length = 0;
  for (const server of servers) {
    const line = lineOf(server, lineLength, contact !== undefined);
    length += line.length + 1;
    if (length > left) break;
    lines.push(line);
  }
  const isComplete = lines.length === servers.length && servers.every((server) => availabilityOf(server) !== "failing");
  const more = lines.length < servers.length ? [`- and ${servers.length - lines.length} more`] : [];
  const where = isComplete ? [] : [`The resource ${statusUri} has the current state of each server.${ask}`];
  return [...lines, ...more, ...where].join("\n");
}

/** A server in one line: its name, what it is for, and how many tools it has, or why it is not available. */
function lineOf(server: GatewayServer, maxLength: number, isWithoutAdvice: boolean): string {
  const { name, failure, tools } = server.status();
  const availability = availabilityOf(server);
  const count = tools === undefined ? "" : ` (${tools} ${tools === 1 ? "tool" : "tools"})`;
  const state = availability === "connecting" ? " (connecting)" : count;
  const what =
    availability === "failing"
      ? `unavailable: ${server.redact((isWithoutAdvice && problemOf(failure?.error)) || (failure?.message ?? ""), "own")}`
      : (textsOf(server)[0]?.trim().split("\n", 1)[0] ?? "");
  const room = maxLength - state.length - `- ${name}: `.length;
  const shown = room < 4 ? "" : clientText(what.replace(/\s+/g, " "), room);
  return `- ${name}${shown === "" ? "" : `: ${shown}`}${availability === "failing" ? "" : state}`;
}

/** The maximum length of each text, so that all together fit: what the short ones leave is for the others. */
function fairShare(lengths: readonly number[], total: number): number {
  let left = total;
  let count = lengths.length;
  for (const length of [...lengths].sort((a, b) => a - b)) {
    if (length > left / count) return Math.floor(left / count);
    left -= length;
    count -= 1;
  }
  return Number.MAX_SAFE_INTEGER;
}
