import { X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { ChannelzError, type Socket } from "@wirescope/channelz";
import { formatAddress, printableText } from "@wirescope/channelz/internal/text";
import { readSnapshotOfAll, type Snapshot, type SnapshotObject } from "@wirescope/channelz/timeline";
import { reasonOf } from "../file-failure.js";
import { formatJson } from "../output/json.js";
import { type Column, renderTable } from "../output/table.js";
import { UsageError } from "../usage-error.js";
import { certificatesOf } from "./certificates.js";
import { assertSnapshotComplete, parseMaxObjects, type ReadTask } from "./read-task.js";

/** The values of `find`. */
export interface FindValues {
  readonly json: boolean;
  readonly "max-objects": string | undefined;
}

/** A field of an object that contains the query. */
export interface Mention {
  readonly object: SnapshotObject;
  /** The field, such as `trace` or `remote address`. */
  readonly field: string;
  readonly text: string;
}

/** Prints which objects of which targets mention a string, an address or a certificate. */
export async function findMentions(task: ReadTask<FindValues>): Promise<void> {
  const { screen, values, targets, signal } = task;
  const query = queryOf(task.positionals[0] ?? "");
  // Summaries of sockets have no certificates.
  const options = { signal, maxObjects: parseMaxObjects(values), socketDetails: true };
  const snapshot = await readSnapshotOfAll(targets, options);
  const mentions = searchSnapshot(snapshot, query);
  if (values.json) {
    screen.print(
      formatJson(
        mentions.map(({ object, field, text }) => ({
          ...(targets.length > 1 ? { origin: object.origin } : {}),
          kind: object.kind,
          id: String(object.id),
          name: object.name,
          field,
          text,
        })),
      ),
    );
  } else if (mentions.length > 0) {
    screen.printAll(renderTable(mentionColumns(targets.length > 1, query), mentions, screen.width));
  }
  assertSnapshotComplete(snapshot);
  if (mentions.length > 0) return;
  const where = targets.length === 1 ? (targets[0]?.target ?? "") : `the ${targets.length} targets`;
  throw new ChannelzError("NOT_FOUND", `Nothing at ${printableText(where)} mentions "${printableText(query, 80)}".`);
}

/** The query: the argument, or the fingerprint of the certificate in the file that it names. Throws a UsageError. */
function queryOf(argument: string): string {
  if (!/\.(pem|crt|cer|der)$/i.test(argument)) return argument;
  const refuse = (reason: string): never => {
    throw new UsageError(
      `Cannot read the certificate file ${printableText(argument)}: ${reason} To search for text, omit the suffix.`,
    );
  };
  let content: Buffer;
  try {
    if (statSync(argument).size > 100_000)
      return refuse("it is larger than 100 kB. Save the certificate as a file of its own.");
    content = readFileSync(argument);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    return refuse(reasonOf(error));
  }
  try {
    return new X509Certificate(content).fingerprint256;
  } catch {
    return refuse("it contains no certificate in PEM or DER format.");
  }
}

const maxMentions = 10_000;

/** The fields of a snapshot that contain the query, case-insensitively; each field of an object once. */
export function searchSnapshot(snapshot: Snapshot, query: string): Mention[] {
  const text = query.trim().toLowerCase();
  // A fingerprint or a serial number may be written with or without colons.
  const bare = text.replaceAll(":", "");
  const isHex = /^[0-9a-f]{8,}$/.test(bare);
  const mentions: Mention[] = [];
  for (const object of snapshot.objects.values()) {
    const seen = new Set<string>();
    for (const [field, value] of textsOf(object)) {
      const lower = value.toLowerCase();
      const isFound =
        lower.includes(text) || (isHex && /serial|fingerprint/.test(field) && lower.replaceAll(":", "").includes(bare));
      if (text === "" || !isFound || seen.has(field)) continue;
      seen.add(field);
      mentions.push({ object, field, text: value });
      if (mentions.length >= maxMentions) return mentions;
    }
  }
  return mentions;
}

function* textsOf(object: SnapshotObject): Generator<readonly [field: string, text: string]> {
  yield ["name", object.name];
  if (object.target !== undefined) yield ["target", object.target];
  if (object.kind === "socket") yield* socketTexts(object.message);
  else {
    const events = object.message?.data?.trace?.events ?? [];
    // Latest first, because only the first match is shown.
    for (const { description } of events.toReversed()) yield ["trace", description];
  }
  if (object.unreadable !== undefined) yield ["error", object.unreadable];
}

function* socketTexts(socket: Socket | undefined): Generator<readonly [field: string, text: string]> {
  if (socket === undefined) return;
  if (socket.local !== undefined) yield ["local address", formatAddress(socket.local)];
  if (socket.remote !== undefined) yield ["remote address", formatAddress(socket.remote)];
  yield ["remote name", socket.remoteName];
  for (const { side, certificate } of certificatesOf(socket)) {
    yield [`${side} certificate subject`, certificate.subject?.split("\n").join(", ") ?? ""];
    yield [`${side} certificate names`, certificate.subjectAltName ?? ""];
    yield [`${side} certificate issuer`, certificate.issuer?.split("\n").join(", ") ?? ""];
    yield [`${side} certificate serial`, certificate.serialNumber];
    yield [`${side} certificate fingerprint`, certificate.fingerprint256];
    yield [`${side} certificate fingerprint (SHA-1)`, certificate.fingerprint];
  }
}

function mentionColumns(isMany: boolean, query: string): Column<Mention>[] {
  return [
    ...(isMany ? [{ title: "ORIGIN", importance: 8, minWidth: 12, text: ({ object }: Mention) => object.origin }] : []),
    { title: "OBJECT", importance: 9, minWidth: 12, text: ({ object }) => `${object.kind} ${object.id}` },
    { title: "FIELD", importance: 5, minWidth: 10, text: ({ field }) => field },
    { title: "TEXT", importance: 7, minWidth: 20, text: ({ text }) => excerpt(text, query) },
    { title: "NAME", importance: 3, text: ({ object }) => object.name || "-" },
  ];
}

/** The part of a long text around the match. */
function excerpt(text: string, query: string): string {
  if (text.length <= 100) return text;
  const at = Math.max(0, text.toLowerCase().indexOf(query.trim().toLowerCase()));
  const start = Math.max(0, at - 30);
  return `${start > 0 ? "…" : ""}${text.slice(start, start + 100)}${start + 100 < text.length ? "…" : ""}`;
}
