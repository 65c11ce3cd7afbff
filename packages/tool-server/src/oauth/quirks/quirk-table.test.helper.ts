export type { Quirk } from "@wirescope/quirks";
