import { create, toBinary } from "@bufbuild/protobuf";
import { SocketOptionLingerSchema, SocketOptionSchema, SocketOptionTcpInfoSchema } from "@wirescope/channelz/client";
import { expect, test } from "vitest";
import { describeOptions } from "./socket-options.js";

const option = (name: string, value: string, additional?: { typeUrl: string; value: Uint8Array }) =>
  create(SocketOptionSchema, { name, value, ...(additional === undefined ? {} : { additional }) });

test("describes known options, and shows unknown ones as the peer sent them", () => {
  const linger = toBinary(
    SocketOptionLingerSchema,
    create(SocketOptionLingerSchema, { active: true, duration: { seconds: 3n } }),
  );
  const { options } = describeOptions([
    option("TCP_NODELAY", "1"),
    option("SO_KEEPALIVE", "0"),
    option("SO_RCVBUF", "131072"),
    option("SO_LINGER", "", { typeUrl: "type.googleapis.com/grpc.channelz.v1.SocketOptionLinger", value: linger }),
    option("SO_RCVTIMEO", "0 ms", { typeUrl: "x/rpc.channelz.v1.SocketOptionTimeout", value: new Uint8Array() }),
    option("SO_VENDOR", "\u202eodd"),
    option("TCP_CONGESTION", "cubic"),
  ]);
  expect(options.map(({ name, value, meaning }) => [name, value, meaning === "" ? "" : "known"])).toEqual([
    ["TCP_NODELAY", "on", "known"],
    ["SO_KEEPALIVE", "off", "known"],
    ["SO_RCVBUF", "131,072 bytes", "known"],
    ["SO_LINGER", "3 s", "known"],
    ["SO_RCVTIMEO", "no limit", "known"],
    ["SO_VENDOR", "\\u202eodd", ""],
    ["TCP_CONGESTION", "cubic", "known"],
  ]);
});

test("explains every field of TCP_INFO, with units", () => {
  const info = toBinary(
    SocketOptionTcpInfoSchema,
    create(SocketOptionTcpInfoSchema, {
      tcpiState: 1,
      tcpiOptions: 7,
      tcpiRtt: 41_250,
      tcpiRttvar: 12,
      tcpiSndSsthresh: 2 ** 31 - 1,
      tcpiSndCwnd: 10,
      tcpiLastDataSent: 1500,
      tcpiPmtu: 65_535,
    }),
  );
  const { options, tcpInfo } = describeOptions([
    option("TCP_INFO", "", { typeUrl: "x/rpc.channelz.v1.SocketOptionTcpInfo", value: info }),
  ]);
  expect(options).toEqual([]);
  expect(tcpInfo).toHaveLength(SocketOptionTcpInfoSchema.fields.length);
  expect(tcpInfo.filter(({ meaning }) => meaning === "")).toEqual([]);
  const values = Object.fromEntries(tcpInfo.map(({ name, value }) => [name, value]));
  expect(values).toMatchObject({
    tcpi_state: "ESTABLISHED",
    tcpi_ca_state: "Open",
    tcpi_options: "timestamps, SACK, window scale",
    tcpi_rtt: "41.3 ms",
    tcpi_rttvar: "12 µs",
    tcpi_snd_ssthresh: "not reached",
    tcpi_snd_cwnd: "10 segments",
    tcpi_last_data_sent: "1,500 ms",
    tcpi_pmtu: "65,535 bytes",
  });
});
