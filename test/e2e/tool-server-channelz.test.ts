import { expect, test, vi } from "vitest";
import { everything } from "./real-servers.test.helper.js";
import {
  callsOfUse,
  observeThisProcess,
  openEntry,
  readOne,
  type Seen,
  traceOf,
  transportCallsOfUse,
  useEverything,
} from "./tool-server-channelz.test.helper.js";

const entry = { command: process.execPath, args: [everything, "stdio"] };

test("[CZ-ADDR-5] shows a stdio server with its process, its calls and its messages, and removes it when it is closed", async () => {
  const observed = await observeThisProcess();
  const connection = await openEntry(entry);
  await useEverything(connection);
  const { channel, subchannel, sockets } = await readOne(observed);
  expect(channel).toMatchObject({
    ref: { name: "everything" },
    data: { target: expect.stringMatching(/^stdio:.*node/), state: { state: "READY" }, ...callsOfUse },
  });
  expect(traceOf(channel)).toMatch(/IDLE -> CONNECTING\n(.*\n)*CONNECTING -> READY/);
  expect(subchannel.data).toMatchObject({ state: { state: "READY" }, ...transportCallsOfUse });
  expect(sockets).toHaveLength(1);
  const { local, remote, data } = sockets[0]!;
  expect(local.other_address.name).toBe(`pid ${process.pid} node`);
  const pid = Number(/^pid (\d+) node$/.exec(remote.other_address.name)?.[1]);
  expect(process.kill(pid, 0)).toBe(true);
  expect(data.streams_succeeded).toBe(data.streams_started);
  // The handshake has at least one request and a notification.
  expect(Number(data.streams_started)).toBeGreaterThanOrEqual(4);
  expect(Number(data.messages_sent)).toBeGreaterThan(Number(data.streams_started));
  expect(Number(data.messages_received)).toBeGreaterThanOrEqual(Number(data.streams_started));

  await connection.close();
  expect(await observed.read("GetTopChannels")).toEqual({ end: true });
  expect((await observed.ours.getTopChannels()).channel).toEqual([]);
  const { channel: closed } = await observed.ours.getChannel(BigInt(channel.ref.channel_id));
  expect(closed?.data).toMatchObject({ callsStarted: 3n, callsSucceeded: 2n, callsFailed: 1n });
  expect(closed?.data?.trace?.events.at(-1)?.description).toMatch(/^Closed: /);
  const { socket } = await observed.ours.getSocket(BigInt(sockets[0]!.ref.socket_id));
  expect(socket?.ref?.name).toBe(`pid ${pid} node`);
});

test("shows why a server ended, and its next run as another subchannel", async () => {
  const observed = await observeThisProcess();
  const connection = await openEntry(entry);
  await connection.listTools();
  const before = await readOne(observed);
  const pidOf = ({ sockets }: Seen): number => Number(/\d+/.exec(sockets[0]!.remote.other_address.name)?.[0]);
  process.kill(pidOf(before), "SIGKILL");
  await vi.waitFor(() => expect(connection.state).not.toBe("READY"), { timeout: 60_000 });
  await connection.listTools();
  const after = await readOne(observed);
  expect(pidOf(after)).not.toBe(pidOf(before));
  expect(after.subchannel.ref.subchannel_id).not.toBe(before.subchannel.ref.subchannel_id);
  expect(after.channel.ref.channel_id).toBe(before.channel.ref.channel_id);
  expect(traceOf(after.channel)).toContain(`Process ${pidOf(before)} was ended by SIGKILL.`);
  const { subchannel: gone } = await observed.ours.getSubchannel(BigInt(before.subchannel.ref.subchannel_id));
  expect(gone?.data?.state?.state).toBe(5);
  expect(gone?.data?.trace?.events.at(-1)?.description).toMatch(/^Closed: .*SIGKILL/);
});

test("shows the failure of a server that cannot be started, with its last output", async () => {
  const observed = await observeThisProcess();
  const script = "console.error('no luck'); process.exit(3)";
  const connection = await openEntry({ command: process.execPath, args: ["-e", script] });
  await expect(connection.listTools()).rejects.toMatchObject({ code: "CHILD_EXITED" });
  const { channel } = await observed.read("GetTopChannels");
  expect(channel).toMatchObject([
    { data: { state: { state: "TRANSIENT_FAILURE" }, calls_started: "1", calls_failed: "1" } },
  ]);
  expect(traceOf(channel[0])).toMatch(/CONNECTING -> TRANSIENT_FAILURE: .*no luck/);
});
