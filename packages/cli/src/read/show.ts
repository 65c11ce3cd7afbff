import type { JsonObject } from "@bufbuild/protobuf";
import {
  type Channel,
  ChannelSchema,
  ChannelzError,
  printableText,
  type Server,
  ServerSchema,
  type Socket,
  SocketSchema,
  type Source,
  type Subchannel,
  SubchannelSchema,
} from "@wirescope/channelz";
import { channelLines, serverLines, socketLines } from "../output/describe.js";
import { formatJson } from "../output/json.js";
import { messageToJson } from "../output/message-json.js";
import type { Screen } from "../output/screen.js";
import { parseId } from "../parse-id.js";
import type { ReadTask } from "./read-task.js";

/** An object that an id names: some peers number each kind by itself, so there may be one of each kind. */
type Found =
  | { readonly kind: "channel"; readonly object: Channel }
  | { readonly kind: "subchannel"; readonly object: Subchannel }
  | { readonly kind: "server"; readonly object: Server }
  | { readonly kind: "socket"; readonly object: Socket };

type Kind = Found["kind"];

const kinds: readonly Kind[] = ["channel", "subchannel", "server", "socket"];

/** Prints all about one object. */
export async function readObject({
  source,
  screen,
  values,
  positionals,
}: ReadTask<{ readonly json: boolean; readonly kind: string | undefined }>): Promise<void> {
  const id = parseId(positionals[0] ?? "", "The argument");
  const asked = kinds.filter((kind) => values.kind === undefined || kind === values.kind);
  const found = (await Promise.all(asked.map((kind) => lookUp(source, kind, id)))).filter((each) => each !== undefined);
  if (found.length === 0) {
    const what = values.kind ?? "object";
    throw new ChannelzError(
      "NOT_FOUND",
      `${printableText(source.target)} has no ${what} ${id}. It may have closed; wirescope tree shows what lives.`,
    );
  }
  if (values.json) return screen.printAll(found.map((each) => formatJson(toJson(each))));
  found.forEach((each, index) => {
    if (index > 0) screen.print("");
    screen.printAll(describe(each, screen));
  });
}

async function lookUp(source: Source, kind: Kind, id: bigint): Promise<Found | undefined> {
  try {
    return await read(source, kind, id);
  } catch (error) {
    if (ChannelzError.is(error, "NOT_FOUND")) return undefined;
    throw error;
  }
}

async function read(source: Source, kind: Kind, id: bigint): Promise<Found | undefined> {
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
