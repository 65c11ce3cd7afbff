import { authCommand } from "./commands/auth.js";
import { bridgeCommand } from "./commands/bridge.js";
import { callCommand } from "./commands/call.js";
import { channelsCommand } from "./commands/channels.js";
import { checkCommand } from "./commands/check.js";
import type { Command } from "./commands/command.js";
import { debugCommand } from "./commands/debug.js";
import { demoCommand } from "./commands/demo.js";
import { installCommand } from "./commands/install.js";
import { loginCommand } from "./commands/login.js";
import { logoutCommand } from "./commands/logout.js";
import { pageCommand } from "./commands/page.js";
import { pingCommand } from "./commands/ping.js";
import { promptsCommand } from "./commands/prompts.js";
import { reconnectCommand } from "./commands/reconnect.js";
import { reloadCommand } from "./commands/reload.js";
import { resourcesCommand } from "./commands/resources.js";
import { serversCommand } from "./commands/servers.js";
import { showCommand } from "./commands/show.js";
import { socketsCommand } from "./commands/sockets.js";
import { toolsCommand } from "./commands/tools.js";
import { treeCommand } from "./commands/tree.js";
import { trustCommand } from "./commands/trust.js";
import { upCommand } from "./commands/up.js";
import { whyCommand } from "./commands/why.js";

/** Every verb, in the order of the help. */
export const commands: readonly Command[] = [
  upCommand,
  channelsCommand,
  serversCommand,
  socketsCommand,
  showCommand,
  treeCommand,
  checkCommand,
  trustCommand,
  toolsCommand,
  callCommand,
  resourcesCommand,
  promptsCommand,
  pingCommand,
  whyCommand,
  reconnectCommand,
  reloadCommand,
  debugCommand,
  loginCommand,
  logoutCommand,
  authCommand,
  pageCommand,
  installCommand,
  bridgeCommand,
  demoCommand,
];
