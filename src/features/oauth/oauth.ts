import type { Engine } from '../../engine/engine.ts'
import { OauthClients } from './clients.ts'
import { OauthGrants } from './grants.ts'
import { ProtocolState } from './protocol-state.ts'
import { RegisteredClients } from './registered-clients.ts'
import { SigningKeys } from './signing-keys.ts'

/** What the authorization server stores in the database. */
export class Oauth {
  readonly clients: OauthClients
  readonly registered: RegisteredClients
  readonly grants: OauthGrants
  readonly signingKeys: SigningKeys
  readonly state: ProtocolState

  constructor(engine: Engine) {
    this.clients = new OauthClients(engine)
    this.registered = new RegisteredClients(engine)
    this.grants = new OauthGrants(engine)
    this.signingKeys = new SigningKeys(engine)
    this.state = new ProtocolState(engine)
  }
}
