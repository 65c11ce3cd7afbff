import type { JsonObject } from "@bufbuild/protobuf";
import {
  type Channel,
  ChannelzError,
  createOriginIds,
  type OriginSource,
  type Server,
  type Socket,
  type Source,
  type Subchannel,
} from "@wirescope/channelz";
import {
  ChannelSchema,
  findKinds,
  type ObjectKind,
  objectKinds,
  ServerSchema,
  SocketSchema,
  SubchannelSchema,
} from "@wirescope/channelz/client";
import { printableText } from "@wirescope/channelz/internal";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import { parseId } from "../option-values.js";
import { channelLines, serverLines, socketLines } from "../output/describe.js";
import { formatJson } from "../output/json.js";
import { messageToJson } from "../output/message-json.js";
import type { Screen } from "../output/screen.js";
import { UsageError } from "../usage-error.js";
import { assertAllRespond, assertComplete, type ReadTask, readTargets } from "./read-task.js";

/** An object with an id. Some peers number each kind separately, so there may be one of each kind. */
type Found =
  | { readonly kind: "channel"; readonly object: Channel }
  | { readonly kind: "subchannel"; readonly object: Subchannel }
  | { readonly kind: "server"; readonly object: Server }
  | { readonly kind: "socket"; readonly object: Socket };

/** Prints the details of one object. With several targets, an id without a target name is looked up in all of them. */
export async function readObject(
  task: ReadTask<{ readonly json: boolean; readonly kind: string | undefined }>,
): Promise<void> {
  const { screen, values } = task;
  const { id, targets } = findTargets(task.positionals[0] ?? "", task.targets);
  const named = objectKinds.find((kind) => kind === values.kind);
  const gathered = await readTargets({ ...task, targets }, (source, signal) => readKinds(source, id, named, signal));
  const found = gathered.flatMap(({ origin, value }) =>
    (value?.found ?? []).map((each) => ({ origin: task.targets.length > 1 ? origin : undefined, ...each })),
  );
  const failures = gathered.flatMap(({ value }) => value?.failures ?? []);
  if (found.length === 0) {
    assertAllRespond(gathered);
    throw failures[0] ?? notFound(targets, id, named);
  }
  if (values.json) {
    const json = found.map(({ origin, ...each }) => ({
      ...(origin === undefined ? {} : { origin: origin.origin }),
      ...toJson(each),
    }));
    screen.printAll(json.map((each) => formatJson(each)));
  } else {
    found.forEach(({ origin, ...each }, index) => {
      if (index > 0) screen.print("");
      if (origin !== undefined) screen.print(screen.palette.faint(printableText(origin.origin)));
      screen.printAll(describe(each, screen));
    });
  }
  assertComplete(failures[0]);
  assertAllRespond(gathered);
}

/** Parses `17`, `17@orders`, or an id of a merged Source, and selects the targets to search. */
function findTargets(
  argument: string,
  all: readonly OriginSource[],
): { readonly id: bigint; readonly targets: readonly OriginSource[] } {
  const [, digits = argument, origin] = /^(\d+)@(.+)$/.exec(argument) ?? [];
  const id = parseId(digits, "The argument");
  if (origin !== undefined) {
    const targets = all.filter((target) => target.origin === origin || target.target === origin);
    if (targets.length > 0) return { id, targets };
    throw new UsageError(`No target has the name "${printableText(origin, 80)}".`);
  }
  const merged = all.length > 1 ? createOriginIds(all.map((target) => target.origin)).decode(id) : undefined;
  if (merged === undefined) return { id, targets: all };
  return { id: merged.id, targets: all.filter((target) => target.origin === merged.origin) };
}

/** The objects of one target with this id. */
async function readKinds(
  source: Source,
  id: bigint,
  named: ObjectKind | undefined,
  signal: AbortSignal,
): Promise<{ readonly found: readonly Found[]; readonly failures: readonly ChannelzError[] }> {
  // With --kind, only that kind is requested: the peer would count each other attempt as a failed call.
  const kinds = named === undefined ? await findKinds(source, id, { signal }) : [named];
  const found: Found[] = [];
  const failures: ChannelzError[] = [];
  for (const kind of kinds) {
    try {
      const object = await read(source, kind, id);
      if (object !== undefined) found.push(object);
    } catch (error) {
      if (!ChannelzError.is(error)) throw error;
      if (error.code !== "NOT_FOUND") failures.push(error);
    }
  }
  return { found, failures };
}

function notFound(targets: readonly OriginSource[], id: bigint, kind: ObjectKind | undefined): ChannelzError {
  const peer = targets.length === 1 ? printableText(targets[0]?.target ?? "") : `Each of the ${targets.length} targets`;
  return new ChannelzError(
    "NOT_FOUND",
    kind === undefined
      ? `${peer} has no open object ${id}; ${commandLine("tree")} lists them. To look up a closed object, pass its kind: ` +
          `${commandLine("show", String(id), "--kind", "socket")}.`
      : `${peer} has no ${kind} ${id}. It may have closed; ${commandLine("tree")} lists open objects.`,
  );
}

async function read(source: Source, kind: ObjectKind, id: bigint): Promise<Found | undefined> {
  switch (kind) {
    case "channel": {
      const { channel: object } = await source.getChannel(id);
      return object && { kind, object };
    }
    case "subchannel": {
      const { subchannel: object } = await source.getSubchannel(id);
      return object && { kind, object };
    }
    case "server": {
      const { server: object } = await source.getServer(id);
      return object && { kind, object };
    }
    case "socket": {
      const { socket: object } = await source.getSocket(id);
      return object && { kind, object };
    }
  }
}

function describe(found: Found, screen: Screen): string[] {
  switch (found.kind) {
    case "channel":
    case "subchannel":
      return channelLines(found.object, screen);
    case "server":
      return serverLines(found.object, screen);
    case "socket":
      return socketLines(found.object, screen);
  }
}

function toJson(found: Found): JsonObject {
  const { kind } = found;
  switch (kind) {
    case "channel":
      return { kind, ...messageToJson(ChannelSchema, found.object) };
    case "subchannel":
      return { kind, ...messageToJson(SubchannelSchema, found.object) };
    case "server":
      return { kind, ...messageToJson(ServerSchema, found.object) };
    case "socket":
      return { kind, ...messageToJson(SocketSchema, found.object) };
  }
}
