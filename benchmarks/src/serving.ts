import { create, toBinary } from "@bufbuild/protobuf";
import {
  GetServerSocketsRequestSchema,
  GetSocketRequestSchema,
  GetTopChannelsRequestSchema,
} from "@wirescope/channelz/client";
import { median } from "./compare.js";
import { type Load, runLoad } from "./grpc-load.js";
import { type Row, rateRow } from "./report.js";
import { startServing } from "./serving-process.js";

const inFlight = 32;
const rounds = 7;

interface Ready {
  readonly serverId: number;
  readonly socketIds: readonly number[];
}

const loads: readonly {
  readonly work: string;
  readonly calls: number;
  readonly load: (ready: Ready) => Load;
}[] = [
  {
    work: "GetSocket, 32 in flight",
    calls: 4000,
    load: ({ socketIds }) => ({
      path: "/grpc.channelz.v1.Channelz/GetSocket",
      requests: socketIds.map((id) =>
        toBinary(GetSocketRequestSchema, create(GetSocketRequestSchema, { socketId: BigInt(id) })),
      ),
    }),
  },
  {
    work: "page of 100 channels, 32 in flight",
    calls: 1000,
    load: () => ({
      path: "/grpc.channelz.v1.Channelz/GetTopChannels",
      requests: [toBinary(GetTopChannelsRequestSchema, create(GetTopChannelsRequestSchema, { maxResults: 100n }))],
    }),
  },
  {
    work: "page of 100 sockets, 32 in flight",
    calls: 2000,
    load: ({ serverId }) => ({
      path: "/grpc.channelz.v1.Channelz/GetServerSockets",
      requests: [
        toBinary(
          GetServerSocketsRequestSchema,
          create(GetServerSocketsRequestSchema, { serverId: BigInt(serverId), maxResults: 100n }),
        ),
      ],
    }),
  },
];

/**
 * How many calls a second each side serves over gRPC, with the same lean client and as many calls in flight. Each
 * serves from a process of its own; the rounds alternate, and so does the side that begins.
 */
export async function benchServing(): Promise<Row[]> {
  const ours = await startServing<Ready>("serving-ours.js");
  const theirs = await startServing<Ready>("serving-theirs.js");
  try {
    const rows: Row[] = [];
    for (const { work, calls, load } of loads) {
      const rates = new Map([
        [ours, [] as number[]],
        [theirs, [] as number[]],
      ]);
      for (let round = -1; round < rounds; round += 1) {
        for (const server of round % 2 === 0 ? [ours, theirs] : [theirs, ours]) {
          const { callsPerSecond } = await runLoad(server.ready.port, load(server.ready), inFlight, calls);
          // The first round warms up.
          if (round >= 0) rates.get(server)!.push(callsPerSecond);
        }
      }
      rows.push(rateRow(work, "calls/s", median(rates.get(ours)!), median(rates.get(theirs)!), 1));
    }
    return rows;
  } finally {
    await Promise.all([ours.stop(), theirs.stop()]);
  }
}
