import type { ServerHandle } from "@wirescope/channelz";
import { EventFolder } from "../event-folder.js";
import { errorCodeName } from "./error-codes.js";

/** What a server's trace reports of all its sessions together: a storm may come over one of them or over thousands. */
export class ServerEvents {
  readonly resets: EventFolder;
  readonly losses: EventFolder;
  readonly #farewells: EventFolder;
  readonly #refusals: EventFolder;
  readonly #complaints: EventFolder;

  constructor(server: ServerHandle) {
    this.resets = new EventFolder(server, "Stream reset");
    this.losses = new EventFolder(server, "Connection lost");
    this.#farewells = new EventFolder(server, "GOAWAY sent", "info");
    this.#refusals = new EventFolder(server, "GOAWAY sent");
    this.#complaints = new EventFolder(server, "GOAWAY received");
  }

  goawaySent(code: number): void {
    (code === 0 ? this.#farewells : this.#refusals).add(errorCodeName(code));
  }

  /** Clients that leave in good order say so too, which is no news. */
  goawayReceived(code: number): void {
    if (code !== 0) this.#complaints.add(errorCodeName(code));
  }
}

const known = new WeakMap<ServerHandle, ServerEvents>();

/** The events of a server's sessions. */
export function eventsOf(server: ServerHandle): ServerEvents {
  let events = known.get(server);
  if (events === undefined) {
    events = new ServerEvents(server);
    known.set(server, events);
  }
  return events;
}
