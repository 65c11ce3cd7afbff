export { type Html, html, pageHeaders, pageOf } from "./html.js";
export { createPage, type Page, type PlainPageRequest, type PlainPages } from "./page.js";
export {
  createPageAccess,
  type PageAccess,
  type PageLink,
  type SessionStore,
  type StoredSession,
  ticketPath,
} from "./page-access.js";
export { parseStatusPath, statusPathOf } from "./page-paths.js";
export { redeemTicket, sendMessage, sendRefusal } from "./send-page.js";
