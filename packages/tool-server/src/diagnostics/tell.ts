import type { SecretRegistry } from "../secrets/redactor.js";
import { channels, type StoryEvent } from "./channels.js";

/** Tells something of a subject to those who watch, with secrets taken out. */
export type Tell = (subject: StoryEvent["subject"], severity: StoryEvent["severity"], text: string) => void;

/** A teller that takes out the secrets of this registry. */
export function createTell(secrets: Pick<SecretRegistry, "redact">): Tell {
  return (subject, severity, text) => {
    if (channels.story.hasSubscribers) channels.story.publish({ subject, severity, text: secrets.redact(text) });
  };
}
