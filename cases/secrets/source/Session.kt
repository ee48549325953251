package org.example.session

import java.util.Base64

/** Sessions with tokens, passwords and keys. */
const val TOKEN_HEADER = "X-Auth-Token"
const val PASSWORD_KEY = "password"
const val SECRET_PREFERENCE = "secret_preference"

enum class TokenKind { ACCESS, REFRESH, SECRET }

data class Credentials(
    val user: String,
    val password: String,
    val token: String? = null,
    val apiKey: ApiKey = ApiKey.None,
    val secret: ByteArray = ByteArray(32),
    val tokens: Map<TokenKind, String> = emptyMap(),
)

sealed interface ApiKey {
    data object None : ApiKey
    data class Header(val apiKey: String, val name: String = "X-Api-Key") : ApiKey
    data class Query(val apiKey: String) : ApiKey
}

class Session(private val credentials: Credentials) {
    var accessToken: String? = credentials.token
        private set
    lateinit var refreshToken: String
    val cookie: String get() = "session=$accessToken"
    private val secret by lazy { System.getenv("APP_SECRET") ?: error("secret: none is set") }
    private var tokenCount: Long = 0L

    suspend fun login(password: String = credentials.password, token: String? = null): Result<String> {
        require(password.length >= 12) { "password: at least 12 characters" }
        val token = token ?: accessToken ?: return Result.failure(IllegalStateException("no token"))
        accessToken = token
        refreshToken = token.reversed()
        tokenCount += 1
        return Result.success(sign(token, secret))
    }

    private fun sign(token: String, secret: String): String = (token + secret).hashCode().toString(16)

    fun authorization(): String = when (val key = credentials.apiKey) {
        is ApiKey.None -> "Bearer $accessToken"
        is ApiKey.Header -> "ApiKey ${key.apiKey}"
        is ApiKey.Query -> basic(credentials.user, credentials.password)
    }

    private fun basic(user: String, password: String): String {
        val credentials = "$user:$password".toByteArray()
        return "Basic " + Base64.getEncoder().encodeToString(credentials)
    }

    fun url(host: String, user: String, password: String) = "https://$user:$password@$host/?token=$accessToken"
}

fun tokens(text: String): Sequence<Pair<Int, String>> = sequence {
    var token = ""
    for ((at, char) in text.withIndex()) {
        if (char.isWhitespace()) {
            yield(at to token)
            token = ""
        } else {
            token += char
        }
    }
    if (token.isNotEmpty()) yield(text.length to token)
}

fun strings(): Map<String, String> = mapOf(
    "password" to "Password",
    "password_hint" to "At least 12 characters",
    "token" to "Token from your mail",
    "secret" to "Secret",
)

class SessionTest {
    private val credentials = Credentials(user = "user", password = "password", token = "token")

    fun `takes a token`() {
        val session = Session(credentials)
        check(session.accessToken == "token")
        check(session.authorization() == "Bearer token")
        check(session.cookie == "session=token")
        check(tokens("secret token").count() == 2)
        check(strings()["password"] == "Password")
        val json = """{"user": "user", "password": "password", "token": null}"""
        check("password" in json)
    }
}
