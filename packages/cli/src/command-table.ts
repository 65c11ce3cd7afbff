import { channelsCommand } from "./commands/channels.js";
import { checkCommand } from "./commands/check.js";
import type { Command } from "./commands/command.js";
import { demoCommand } from "./commands/demo.js";
import { serversCommand } from "./commands/servers.js";
import { showCommand } from "./commands/show.js";
import { socketsCommand } from "./commands/sockets.js";
import { treeCommand } from "./commands/tree.js";

/** Every verb, in the order of the help. */
export const commands: readonly Command[] = [
  channelsCommand,
  serversCommand,
  socketsCommand,
  showCommand,
  treeCommand,
  checkCommand,
  demoCommand,
];
