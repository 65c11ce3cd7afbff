import type { JsonObject } from "@bufbuild/protobuf";
import {
  type Channel,
  ChannelzError,
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
import { assertComplete, type ReadTask } from "./read-task.js";

/** An object that an id names: some peers number each kind separately, so there may be one of each kind. */
type Found =
  | { readonly kind: "channel"; readonly object: Channel }
  | { readonly kind: "subchannel"; readonly object: Subchannel }
  | { readonly kind: "server"; readonly object: Server }
  | { readonly kind: "socket"; readonly object: Socket };

/** Prints all about one object. */
export async function readObject({
  source,
  screen,
  values,
  positionals,
  signal,
}: ReadTask<{ readonly json: boolean; readonly kind: string | undefined }>): Promise<void> {
  const id = parseId(positionals[0] ?? "", "The argument");
  // A kind that the user names is asked for directly. Other kinds are not tried: the peer would count each as a failed call.
  const named = objectKinds.find((kind) => kind === values.kind);
  const kinds = named === undefined ? await findKinds(source, id, { signal }) : [named];
  const found: Found[] = [];
  const failures: { readonly kind: ObjectKind; readonly error: ChannelzError }[] = [];
  for (const kind of kinds) {
    try {
      const object = await read(source, kind, id);
      if (object !== undefined) found.push(object);
    } catch (error) {
      if (!ChannelzError.is(error)) throw error;
      if (error.code !== "NOT_FOUND") failures.push({ kind, error });
    }
  }
  if (found.length === 0) throw failures[0]?.error ?? notFound(source.target, id, named);
  if (values.json) screen.printAll(found.map((each) => formatJson(toJson(each))));
  else {
    found.forEach((each, index) => {
      if (index > 0) screen.print("");
      screen.printAll(describe(each, screen));
    });
  }
  assertComplete(failures[0]?.error);
}

function notFound(target: string, id: bigint, kind: ObjectKind | undefined): ChannelzError {
  const peer = printableText(target);
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
