import type { ChannelzPackage } from "../channelz-package.js";
import type { EncodedRead } from "../encoded-source.js";
import { ChannelzError } from "../errors.js";
import { ByteWriter } from "../wire/byte-writer.js";
import { encodeChannel, encodeServer, encodeSocket, encodeSocketRef } from "./encode-records.js";
import type { OrderedTable } from "./ordered-table.js";
import { ChannelRecord, type Kind, ServerRecord, SocketRecord } from "./records.js";
import { checkSocketDetails, type SocketDetails } from "./socket-details.js";
import type { Store } from "./store.js";

const defaultPageSize = 100;
const maxPageSize = 1000;
/** A page also ends after this many bytes, because most clients reject a message of more than 4 MiB. */
const maxPageBytes = 2 * 1024 * 1024;

/** Handles the seven reads by encoding records directly. */
export class RecordReader {
  readonly #store: Store;
  readonly #writer = new ByteWriter();

  constructor(store: Store) {
    this.#store = store;
  }

  encode(read: EncodedRead, channelzPackage: ChannelzPackage, headroom: number): Uint8Array {
    const writer = this.#writer;
    switch (read.method) {
      case "GetTopChannels":
        return this.#page(this.#store.topChannels, read, headroom, encodeChannel);
      case "GetServers":
        return this.#page(this.#store.servers, read, headroom, encodeServer);
      case "GetServerSockets": {
        const { sockets } = this.#find("server", read.id, ServerRecord);
        return this.#page(sockets, read, headroom, encodeSocketRef);
      }
      case "GetServer": {
        const server = this.#find("server", read.id, ServerRecord);
        writer.begin(headroom);
        encodeServer(writer, 0x0a, server);
        return writer.finish();
      }
      case "GetChannel":
      case "GetSubchannel": {
        const kind = read.method === "GetChannel" ? "channel" : "subchannel";
        const channel = this.#find(kind, read.id, ChannelRecord);
        writer.begin(headroom);
        encodeChannel(writer, 0x0a, channel);
        return writer.finish();
      }
      case "GetSocket": {
        const socket = this.#find("socket", read.id, SocketRecord);
        // Before the writer begins: a describer is application code, and may itself read from the registry.
        const details = read.summary ? undefined : describe(socket);
        writer.begin(headroom);
        encodeSocket(writer, 0x0a, socket, details, channelzPackage);
        return writer.finish();
      }
    }
  }

  #page<T extends { readonly id: number }>(
    table: OrderedTable<T>,
    { startId, maxResults }: { readonly startId: bigint; readonly maxResults: bigint },
    headroom: number,
    encodeItem: (writer: ByteWriter, tag: number, item: T) => void,
  ): Uint8Array {
    if (maxResults < 0n) {
      throw new ChannelzError(
        "INVALID_ARGUMENT",
        `max_results is ${maxResults}, but must not be negative. Send 0 for the default page size, or up to ${maxPageSize}.`,
      );
    }
    const limit = maxResults === 0n ? defaultPageSize : Math.min(Number(maxResults), maxPageSize);
    const writer = this.#writer;
    writer.begin(headroom);
    let count = 0;
    const isEnd = table.visitFrom(Number(startId), (item) => {
      if (count === limit || writer.length > maxPageBytes) return false;
      encodeItem(writer, 0x0a, item);
      count += 1;
      return true;
    });
    writer.bool(0x10, isEnd);
    return writer.finish();
  }

  #find<T extends { readonly kind: Kind }>(
    kind: Kind,
    id: bigint,
    // biome-ignore lint/suspicious/noExplicitAny: only its instances matter here
    recordClass: new (...args: any[]) => T,
  ): T {
    const record = this.#store.all.get(Number(id));
    if (record instanceof recordClass && record.kind === kind) return record;
    throw new ChannelzError(
      "NOT_FOUND",
      record === undefined
        ? `There is no ${kind} ${id}. It never existed, or it closed and is no longer remembered; list again for the current ids.`
        : `There is no ${kind} ${id}: this is the id of a ${record.kind}.`,
    );
  }
}

/** The details from a socket's describer; undefined if its subject is gone. If it fails, an option says so, so that a read never fails. */
function describe(socket: SocketRecord): SocketDetails | undefined {
  const { subject } = socket;
  if (subject === undefined || socket.describe === undefined) return undefined;
  try {
    const details = socket.describe(subject);
    checkSocketDetails(details);
    return details;
  } catch (error) {
    return { options: [{ name: "DESCRIBE_FAILED", value: error instanceof Error ? error.name : "unknown" }] };
  }
}
