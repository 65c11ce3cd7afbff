import { channel, type Channel as DiagnosticsChannel } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import type { Channel, Registry, Socket as ShownSocket, Subchannel } from "@wirescope/channelz";
import type {
  ChildProcessInfo,
  ConnectionInfo,
  NetworkSocketInfo,
  ToolServerChannelName,
  ToolServerMessages,
  TransportInfo,
} from "@wirescope/tool-server";

/** The diagnostics channel of tool servers with this name. */
export function channelOf(name: ToolServerChannelName): DiagnosticsChannel {
  return channel(`wirescope:tool-server:${name}`);
}

/** Publishes like a tool server. */
export function publish<Name extends ToolServerChannelName>(name: Name, message: ToolServerMessages[Name]): void {
  channelOf(name).publish(message);
}

export function connectionInfo(change: Partial<ConnectionInfo> = {}): ConnectionInfo {
  return {
    kind: "http",
    name: "github",
    target: "https://api.example.com/mcp",
    tenant: {},
    credential: () => ({ kind: "none", summary: "none", headers: [], environment: [] }),
    ...change,
  };
}

export function transportInfo(
  connection: ConnectionInfo = connectionInfo(),
  target = "https://api.example.com",
): TransportInfo {
  return { connection, target };
}

export function networkSocketInfo(
  socket: Socket,
  transport: TransportInfo = transportInfo(),
  remoteName = "api.example.com:443",
): NetworkSocketInfo {
  return { kind: "socket", transport, socket, remoteName };
}

export function childProcessInfo(pid: number, transport: TransportInfo = transportInfo()): ChildProcessInfo {
  return { kind: "child", transport, pid, command: "/usr/bin/node" };
}

/** Everything that a registry shows, from its top channels down. */
export interface Shown {
  readonly channels: Channel[];
  readonly subchannels: Subchannel[];
  readonly sockets: ShownSocket[];
}

/** Reads a registry like a client. */
export async function readAll(registry: Registry): Promise<Shown> {
  const shown: Shown = { channels: [], subchannels: [], sockets: [] };
  const { channel } = await registry.getTopChannels();
  for (const top of channel) {
    shown.channels.push(top);
    for (const { subchannelId } of top.subchannelRef) {
      const { subchannel } = await registry.getSubchannel(subchannelId);
      shown.subchannels.push(subchannel!);
      for (const { socketId } of subchannel!.socketRef) {
        shown.sockets.push((await registry.getSocket(socketId)).socket!);
      }
    }
  }
  return shown;
}

/** The connection, transport and socket of a registry that shows one of each. */
export async function readOne(
  registry: Registry,
): Promise<{ channel: Channel; subchannel: Subchannel; socket: ShownSocket }> {
  const { channels, subchannels, sockets } = await readAll(registry);
  if (channels.length !== 1 || subchannels.length !== 1 || sockets.length !== 1) {
    throw new Error(
      `There are ${channels.length} channels, ${subchannels.length} subchannels, ${sockets.length} sockets.`,
    );
  }
  return { channel: channels[0]!, subchannel: subchannels[0]!, socket: sockets[0]! };
}
