export const ALICE = { principal_id: 'alice' }
export const BOB = { agent_id: 'bob' }
export const ROOT = { principal_kind: 'human', principal_id: 'root' }
export const ARTIFACTS = [{ url: 'https://results.example/1.json' }]
export const NOWHERE = '00000000-0000-7000-8000-000000000000'
