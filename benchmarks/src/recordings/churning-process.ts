import {
  type ChannelHandle,
  createRegistry,
  type Registry,
  type ServerHandle,
  type SocketHandle,
  type SubchannelHandle,
} from "@wirescope/channelz";

interface Connection {
  readonly channel: ChannelHandle;
  subchannel: SubchannelHandle;
  socket: SocketHandle;
}

/** A process with traffic whose time is chosen: a second passes when `step` says so. */
export interface ChurningProcess {
  readonly registry: Registry;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** A second of traffic: a share of the objects handles calls, and three connections are replaced. */
  step(activeShare: number): void;
}

/** Creates a process with about so many objects: channels with a subchannel and a socket each, and connections of a server. */
export function createChurningProcess(objects: number): ChurningProcess {
  const random = createRandom();
  let nowMs = Date.UTC(2026, 0, 1);
  const registry = createRegistry({ clock: { now: () => Math.floor(nowMs + random() * 999) } });
  const port = (): number => 20_000 + Math.floor(random() * 40_000);
  const connections: Connection[] = [];
  const dial = (channel: ChannelHandle, index: number): Pick<Connection, "subchannel" | "socket"> => {
    const address = { ip: `10.0.${index >> 8}.${index & 255}`, port: 443 };
    const subchannel = registry.addSubchannel({ parent: channel, target: `${address.ip}:443` });
    subchannel.setState("CONNECTING");
    const socket = registry.addSocket({
      parent: subchannel,
      local: { ip: "10.0.0.1", port: port() },
      remote: address,
    });
    subchannel.setState("READY");
    return { subchannel, socket };
  };
  for (let index = 0; index < objects / 4; index += 1) {
    const channel = registry.addChannel({ name: `service-${index}`, target: `dns:///service-${index}.internal:443` });
    connections.push({ channel, ...dial(channel, index) });
  }
  const server: ServerHandle = registry.addServer({ name: "main" });
  const accept = (): SocketHandle =>
    registry.addSocket({ server, local: { ip: "10.0.0.1", port: 8080 }, remote: { ip: "10.2.0.1", port: port() } });
  const accepted = Array.from({ length: objects / 4 - 1 }, accept);

  function call({ channel, subchannel, socket }: Connection): void {
    for (const each of [channel, subchannel]) each.callStarted();
    socket.localStreamStarted();
    socket.messageSent();
    socket.messageReceived();
    if (random() < 0.02) {
      for (const each of [channel, subchannel]) each.callFailed();
      socket.streamFailed();
    } else {
      for (const each of [channel, subchannel]) each.callSucceeded();
      socket.streamSucceeded();
    }
  }

  function handleCall(socket: SocketHandle): void {
    server.callStarted();
    socket.remoteStreamStarted();
    socket.messageReceived();
    socket.messageSent();
    socket.streamSucceeded();
    server.callSucceeded();
  }

  function replaceConnections(): void {
    const index = Math.floor(random() * connections.length);
    const connection = connections[index]!;
    connection.socket.close();
    connection.subchannel.setState("TRANSIENT_FAILURE");
    connection.subchannel.close();
    Object.assign(connection, dial(connection.channel, index));
    for (let count = 0; count < 2; count += 1) {
      const at = Math.floor(random() * accepted.length);
      accepted[at]!.close();
      accepted[at] = accept();
    }
  }

  return {
    registry,
    get nowMs() {
      return nowMs;
    },
    step(activeShare) {
      nowMs += 1000;
      const calls = (): number => (random() < activeShare ? 1 + Math.floor(random() * 7) : 0);
      for (const connection of connections) for (let left = calls(); left > 0; left -= 1) call(connection);
      for (const socket of accepted) for (let left = calls(); left > 0; left -= 1) handleCall(socket);
      replaceConnections();
    },
  };
}

/** The same numbers in each run. */
function createRandom(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
}
