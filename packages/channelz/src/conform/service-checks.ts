import type { Message } from "@bufbuild/protobuf";
import type { ObjectKind } from "../client/find-kinds.js";
import type { Observations, ObservedObject } from "./observations.js";
import { type Check, type CheckResult, check, checkEach, failed, notApplicable, passed } from "./result.js";
import { unknownPartsOf } from "./unknown-parts.js";

const specified = check("specification");

/** All objects that were looked up. */
function objectsOf({
  channels,
  subchannels,
  serverObjects,
  sockets,
}: Observations): ObservedObject<ObjectKind, Message>[] {
  return [...channels, ...subchannels, ...serverObjects, ...sockets];
}

const lookupRule = (id: string, method: string, kind: ObjectKind): Check =>
  specified(id, `${method} returns the ${kind} with the given id`, (seen) =>
    checkEach(
      objectsOf(seen).filter((each) => each.kind === kind),
      `${kind}s`,
      (each) => {
        const name = `${kind} ${each.id}`;
        if (each.isMissing) return `${name} is listed before and after, but ${method} returns NOT_FOUND`;
        if (each.failure !== undefined) return `${name}: ${each.failure.message}`;
        if (each.second === undefined) return `${method} of ${name} returns no ${kind}`;
        const [, found] = refOf(each.second) ?? [];
        return found === each.id ? undefined : `${method} of ${name} returns ${kind} ${found ?? "without a ref"}`;
      },
    ),
  );

/** The kind and id in the ref of an object. */
function refOf(object: Message): [kind: ObjectKind, id: bigint] | undefined {
  const ref = (object as { ref?: Record<string, unknown> }).ref;
  for (const kind of ["channel", "subchannel", "server", "socket"] as const) {
    const id = ref?.[`${kind}Id`];
    if (typeof id === "bigint") return [kind, id];
  }
  return undefined;
}

/** Every id in the responses, with its kind. */
function idsOf(seen: Observations): [kind: ObjectKind, id: bigint][] {
  const ids: [ObjectKind, bigint][] = [];
  for (const { ids: listed } of seen.servers.pages) for (const id of listed) ids.push(["server", id]);
  for (const { ids: listed } of seen.topChannels.pages) for (const id of listed) ids.push(["channel", id]);
  for (const { pages } of seen.serverSockets)
    for (const page of pages) for (const id of page.ids) ids.push(["socket", id]);
  for (const { kind, second } of [...seen.channels, ...seen.subchannels]) {
    const ref = second && refOf(second);
    if (ref !== undefined) ids.push([kind, ref[1]]);
    for (const { channelId } of second?.channelRef ?? []) ids.push(["channel", channelId]);
    for (const { subchannelId } of second?.subchannelRef ?? []) ids.push(["subchannel", subchannelId]);
    for (const { socketId } of second?.socketRef ?? []) ids.push(["socket", socketId]);
  }
  for (const { second } of seen.serverObjects) {
    for (const { socketId } of second?.listenSocket ?? []) ids.push(["socket", socketId]);
  }
  return ids;
}

function checkUnique(seen: Observations): CheckResult {
  const kinds = new Map<bigint, Set<ObjectKind>>();
  for (const [kind, id] of idsOf(seen)) kinds.set(id, (kinds.get(id) ?? new Set()).add(kind));
  if (kinds.size === 0) return notApplicable("no objects");
  const shared = [...kinds].filter(([, of]) => of.size > 1);
  if (shared.length === 0) return passed(`${kinds.size} ids`);
  return failed(shared.map(([id, of]) => `${id} is a ${[...of].join(" and a ")}`));
}

function checkMethods(seen: Observations): CheckResult {
  const failures = [
    ...[seen.servers, seen.topChannels, ...seen.serverSockets].flatMap(({ name, failures: all }) =>
      all.map((failure) => ({ name, failure })),
    ),
    ...[...seen.unknownIds, seen.unknownServer].flatMap((each) =>
      each?.failure === undefined ? [] : [{ name: each.method, failure: each.failure }],
    ),
  ];
  const missing = failures.filter(({ failure }) => failure.code === "PEER_WITHOUT_CHANNELZ");
  return missing.length === 0 ? passed("7 methods") : failed(missing.map(({ name }) => `${name} is not implemented`));
}

/** Every message that was received. */
function messagesOf(seen: Observations): Message[] {
  const lists = [seen.servers, seen.topChannels].flatMap(({ pages }) =>
    pages.flatMap(({ items }) => items as readonly Message[]),
  );
  return [...lists, ...objectsOf(seen).flatMap(({ second }) => second ?? [])];
}

/** Rules for the service, refs and lookups. */
export const serviceChecks: readonly Check[] = [
  specified("CZ-SCHEMA-2", "all seven methods are implemented", checkMethods),
  specified("CZ-SCHEMA-4", "no ref uses a reserved tag", (seen) =>
    checkEach(messagesOf(seen), "objects", (message) => unknownPartsOf(message).reserved),
  ),
  specified("CZ-SCHEMA-22", "responses have no field and no enum value that the schema lacks", (seen) =>
    checkEach(messagesOf(seen), "objects", (message) => unknownPartsOf(message).unknown),
  ),
  specified("CZ-VER-1", "the version is in the name of the package", ({ channelzPackage }) => passed(channelzPackage)),
  specified("CZ-REF-1", "an id is a positive integer", (seen) =>
    checkEach(idsOf(seen), "ids", ([kind, id]) => (id > 0n ? undefined : `a ${kind} has the id ${id}`)),
  ),
  specified("CZ-REF-2", "an id is unique among all kinds of objects", checkUnique),
  lookupRule("CZ-OP-4", "GetServer", "server"),
  lookupRule("CZ-OP-6", "GetChannel", "channel"),
  lookupRule("CZ-OP-7", "GetSubchannel", "subchannel"),
  lookupRule("CZ-OP-8", "GetSocket", "socket"),
  specified("CZ-OP-5", "a socket is listed by one server only", ({ serverSockets }) => {
    const owners = new Map<bigint, Set<bigint>>();
    for (const { serverId, pages } of serverSockets) {
      for (const id of pages.flatMap(({ ids }) => ids)) owners.set(id, (owners.get(id) ?? new Set()).add(serverId));
    }
    return checkEach([...owners], "sockets of servers", ([id, of]) =>
      of.size > 1 ? `socket ${id} is listed by the servers ${[...of].join(" and ")}` : undefined,
    );
  }),
  specified("CZ-OP-9", "a summary of a socket is that socket", ({ sockets }) =>
    checkEach(
      sockets.filter(({ isMissing, second }) => !isMissing && second !== undefined),
      "sockets",
      ({ id, first }) => (first?.ref?.socketId === id ? undefined : `the summary of socket ${id} is not that socket`),
    ),
  ),
];
