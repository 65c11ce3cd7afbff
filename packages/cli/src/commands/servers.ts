import { type Command, defineReadCommand } from "./command.js";

/** Lists the servers. */
export const serversCommand: Command = defineReadCommand({
  name: "servers",
  summary: "list the servers, with where they listen",
  options: {},
  read: async (task) => (await import("../read/servers.js")).readServers(task),
});
