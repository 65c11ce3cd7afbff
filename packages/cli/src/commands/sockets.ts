import { type Command, defineReadCommand, limitOption } from "./command.js";

/** Lists the sockets of servers and channels. */
export const socketsCommand: Command = defineReadCommand({
  name: "sockets",
  summary: "list the connections, and the sockets that servers listen on",
  options: {
    server: { type: "string", placeholder: "id", help: "only the sockets of this server" },
    ...limitOption,
  },
  read: async (task) => (await import("../read/sockets.js")).readSockets(task),
});
