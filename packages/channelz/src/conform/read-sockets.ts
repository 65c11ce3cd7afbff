import type { Socket, SocketData } from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { Observations, ObservedSocket } from "./observations.js";

/** A socket that was read. */
export interface ReadSocket extends ObservedSocket {
  readonly second: Socket;
}

const isRead = (socket: ObservedSocket): socket is ReadSocket => socket.second !== undefined;
/** The sockets that were read. */
export const socketsOf = ({ sockets }: Observations): ReadSocket[] => sockets.filter(isRead);
/** The name of a socket in a report. */
export const nameOf = ({ id, role }: ObservedSocket): string => `socket ${id} (${role})`;

/** The data of sockets from two reads. */
export function dataOf(
  seen: Observations,
): { name: string; first: SocketData | undefined; second: SocketData; role: string }[] {
  return socketsOf(seen).flatMap((socket) => {
    const { data } = socket.second;
    return data === undefined
      ? []
      : [{ name: nameOf(socket), first: socket.first?.data, second: data, role: socket.role }];
  });
}
